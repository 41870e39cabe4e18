import LogFormat
