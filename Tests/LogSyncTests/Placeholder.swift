import LogSync
