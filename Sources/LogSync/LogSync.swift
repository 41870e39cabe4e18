// What an app needs beside this module: identities, values, versions and errors.
@_exported public import LogSyncModel

public import LogSyncContainer

/// Tells of changes in folders; see ``SyncConfiguration/events``.
public typealias FolderEvents = LogSyncContainer.FolderEvents

/// A hint that something happened in a folder.
public typealias FolderHint = LogSyncContainer.FolderHint

/// Hears of changes from the kernel, by inotify's system calls.
public typealias KernelFolderEvents = LogSyncContainer.KernelFolderEvents

/// Looks for changes at intervals, where the kernel does not report them.
public typealias PollingFolderEvents = LogSyncContainer.PollingFolderEvents
