// What an app needs beside this module: values, the rows an import changed, and the folder's events.
@_exported public import LogSyncContainer
@_exported public import LogSyncModel
