// swift-tools-version: 6.1

import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
]

// What the rest calls most is optimized also where it is built for tests, which take three fifths of the time then. Make sets the
// variable; a package with unsafe flags could not be depended on.
let isOptimized = Context.environment["LOGSYNC_OPTIMIZED"] != nil
let optimized = settings + (isOptimized ? [.unsafeFlags(["-O"], .when(configuration: .debug))] : [])

let package = Package(
    name: "logsync",
    products: [
        .executable(name: "logsync", targets: ["LogSyncCommand"]),
        .library(name: "LogSync", targets: ["LogSync"]),
        .library(name: "LogSyncKeyValue", targets: ["LogSyncKeyValue"]),
        .library(name: "LogSyncEditing", targets: ["LogSyncEditing"]),
        .library(name: "LogSyncTesting", targets: ["LogSyncTesting"]),
        // A product of its own, because libinotifytools is under the GPL.
        .library(name: "InotifyEvents", targets: ["InotifyEvents"]),
    ],
    dependencies: [
        // Ranges, because a program that embeds LogSync has versions of its own. GRDB before 7.10 does not link on Linux.
        .package(url: "https://github.com/groue/GRDB.swift", "7.10.0"..<"8.0.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.0"..<"5.0.0"),
        .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
    ],
    targets: [
        .target(name: "CLogSyncSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .systemLibrary(name: "CLogSyncAllocator"),
        .systemLibrary(name: "CLogSyncFileSystem"),
        .systemLibrary(name: "CLogSyncInotifyTools", providers: [.apt(["libinotifytools0-dev"])]),
        .systemLibrary(name: "CLogSyncZstd", providers: [.apt(["libzstd-dev"])]),
        .target(name: "LogSyncModel", swiftSettings: optimized),
        .target(name: "LogSyncState", dependencies: ["LogSyncModel"], swiftSettings: optimized),
        .target(
            name: "LogSyncSQLite",
            dependencies: [
                "LogSyncModel", "CLogSyncSQLite", .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: optimized),
        .target(
            name: "LogSyncFormat",
            dependencies: ["LogSyncModel", "CLogSyncZstd", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: optimized),
        .target(
            name: "LogSyncContainer",
            dependencies: [
                "LogSyncModel", "LogSyncFormat", "CLogSyncFileSystem",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: optimized),
        .target(
            name: "InotifyEvents", dependencies: ["LogSyncContainer", "CLogSyncInotifyTools"], swiftSettings: settings),
        .target(
            name: "LogSyncStore",
            dependencies: [
                "LogSyncModel", "LogSyncState", "LogSyncFormat", "LogSyncSQLite", "CLogSyncSQLite",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .target(
            name: "LogSync",
            dependencies: [
                "LogSyncModel", "LogSyncFormat", "LogSyncContainer", "LogSyncStore",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "LogSyncKeyValue",
            dependencies: ["LogSync", "LogSyncModel", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        .target(
            name: "LogSyncEditing",
            dependencies: ["LogSync", "LogSyncSQLite", "LogSyncStore", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        // For the tests of programs that embed the library.
        .target(
            name: "LogSyncTesting",
            dependencies: [
                "LogSync", "LogSyncModel", "LogSyncSQLite", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "LogSyncCommand",
            dependencies: [
                "LogSync", "LogSyncKeyValue", "InotifyEvents", "CLogSyncAllocator", "CLogSyncSQLite",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "TOMLKit", package: "TOMLKit"),
            ],
            resources: [.embedInCode("Recipes")], swiftSettings: settings),
        // Black box: links nothing of ours, but needs the built tool beside it.
        .testTarget(
            name: "AcceptanceTests",
            dependencies: ["LogSyncCommand", .product(name: "Crypto", package: "swift-crypto")], swiftSettings: settings
        ),
        .executableTarget(
            name: "NotesExample",
            dependencies: ["LogSync", .product(name: "GRDB", package: "GRDB.swift")], path: "Examples/Notes",
            swiftSettings: settings),
        .executableTarget(
            name: "TodoExample",
            dependencies: ["LogSync", "LogSyncEditing", .product(name: "GRDB", package: "GRDB.swift")],
            path: "Examples/Todo", swiftSettings: settings),
        // Log files, snapshots and receipts with right hashes that say what no logsync would write.
        .target(
            name: "Forgery",
            dependencies: [
                "LogSyncModel", "LogSyncFormat", "LogSyncContainer", "CLogSyncZstd",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/Support/Forgery", swiftSettings: settings),
        // What has to hold of a store that is given such things.
        .target(
            name: "Trials",
            dependencies: [
                "LogSyncStore", "LogSyncSQLite", "LogSyncFormat", "LogSyncModel", "Forgery",
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            path: "Tests/Support/Trials", swiftSettings: settings),
        // What a process of tests sets before it uses SQLite.
        .target(
            name: "TestProcess", dependencies: ["CLogSyncSQLite"], path: "Tests/Support/TestProcess"),
        .testTarget(name: "LogSyncModelTests", dependencies: ["LogSyncModel"], swiftSettings: settings),
        .testTarget(
            name: "LogSyncFormatTests",
            dependencies: [
                "LogSyncFormat", "LogSyncModel", "Forgery", "CLogSyncZstd",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "LogSyncContainerTests", dependencies: ["LogSyncContainer", "InotifyEvents", "Forgery"],
            swiftSettings: settings),
        .testTarget(
            name: "LogSyncStoreTests",
            dependencies: [
                "LogSyncStore", "LogSyncState", "LogSyncSQLite", "Forgery", "Trials", "TestProcess",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "LogSyncTests",
            dependencies: [
                "LogSync", "LogSyncEditing", "LogSyncKeyValue", "LogSyncTesting", "LogSyncSQLite", "Forgery",
                "InotifyEvents", "TestProcess",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        // A SQLite VFS that owns time and on which processes die; see `make simulate`.
        .target(
            name: "SimulationVFS", path: "Tests/SimulationVFS", linkerSettings: [.linkedLibrary("sqlite3")]),
        .executableTarget(
            name: "Simulation",
            dependencies: [
                "LogSync", "LogSyncStore", "LogSyncContainer", "LogSyncFormat", "LogSyncModel", "SimulationVFS",
                "Forgery",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Simulation", exclude: ["README.md"], swiftSettings: settings),
        // Writes what `make test-large` replicates.
        .executableTarget(
            name: "large-writer",
            dependencies: ["LogSync", .product(name: "GRDB", package: "GRDB.swift")], path: "Tests/Large/Sources",
            swiftSettings: settings),
        .testTarget(
            name: "CommandTests", dependencies: ["LogSync", "LogSyncCommand", "LogSyncContainer"],
            exclude: ["Applications"], swiftSettings: settings),
        // No product: `make bench` builds it. In this package, because it measures what has `package` access.
        .target(
            name: "SQLiteSession", path: "Benchmarks/SQLiteSession", linkerSettings: [.linkedLibrary("sqlite3")]),
        .executableTarget(
            name: "logsync-benchmarks",
            dependencies: [
                "LogSync", "LogSyncStore", "LogSyncContainer", "LogSyncFormat", "LogSyncModel", "CLogSyncZstd",
                "SQLiteSession",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Benchmarks/Sources", swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

// libFuzzer brings a main function of its own, so this is built by `make fuzz` alone, which sets the variable.
if Context.environment["LOGSYNC_FUZZ"] != nil {
    package.products.append(.library(name: "LogFuzz", type: .static, targets: ["LogFuzz"]))
    package.targets.append(
        .target(
            name: "LogFuzz",
            dependencies: [
                "LogSyncContainer", "LogSyncFormat", "LogSyncModel", "Forgery", "Trials",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/Fuzz/Sources", swiftSettings: settings))
}
