// swift-tools-version: 6.1

import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
]

let package = Package(
    name: "logsync",
    products: [
        .executable(name: "logsync", targets: ["LogSyncCommand"]),
        .library(name: "LogSync", targets: ["LogSync"]),
        // A product of its own, because libinotifytools is under the GPL.
        .library(name: "InotifyEvents", targets: ["InotifyEvents"]),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "3.12.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.4.0"),
        .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
    ],
    targets: [
        .target(name: "CSQLiteShim", linkerSettings: [.linkedLibrary("sqlite3")]),
        .systemLibrary(name: "CAllocator"),
        .systemLibrary(name: "CFileSystem"),
        .systemLibrary(name: "CInotifyTools", providers: [.apt(["libinotifytools0-dev"])]),
        .systemLibrary(name: "CZstd", providers: [.apt(["libzstd-dev"])]),
        .target(name: "LogModel", swiftSettings: settings),
        .target(
            name: "LogFormat",
            dependencies: ["LogModel", "CZstd", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: settings),
        .target(
            name: "LogContainer",
            dependencies: [
                "LogModel", "LogFormat", "CFileSystem", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings),
        .target(
            name: "InotifyEvents", dependencies: ["LogContainer", "CInotifyTools"], swiftSettings: settings),
        .target(
            name: "LogStore",
            dependencies: [
                "LogModel", "LogFormat", "CSQLiteShim",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .target(
            name: "LogSync",
            dependencies: [
                "LogModel", "LogFormat", "LogContainer", "LogStore",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "LogSyncCommand",
            dependencies: [
                "LogSync", "InotifyEvents", "CAllocator", "CSQLiteShim",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "TOMLKit", package: "TOMLKit"),
            ],
            swiftSettings: settings),
        // Black box: links nothing of ours, but needs the built tool beside it.
        .testTarget(
            name: "AcceptanceTests",
            dependencies: ["LogSyncCommand", .product(name: "Crypto", package: "swift-crypto")], swiftSettings: settings
        ),
        .executableTarget(
            name: "NotesExample",
            dependencies: ["LogSync", .product(name: "GRDB", package: "GRDB.swift")], path: "Examples/Notes",
            swiftSettings: settings),
        .testTarget(name: "LogModelTests", dependencies: ["LogModel"], swiftSettings: settings),
        .testTarget(
            name: "LogFormatTests",
            dependencies: ["LogFormat", "LogModel", "CZstd", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: settings),
        .testTarget(
            name: "LogContainerTests", dependencies: ["LogContainer", "InotifyEvents"], swiftSettings: settings),
        .testTarget(
            name: "LogStoreTests",
            dependencies: [
                "LogStore", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "LogSyncTests",
            dependencies: [
                "LogSync", "InotifyEvents", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        // A SQLite VFS that owns time and on which processes die; see `make simulate`.
        .target(
            name: "SimulationVFS", path: "Tests/SimulationVFS", linkerSettings: [.linkedLibrary("sqlite3")]),
        .executableTarget(
            name: "Simulation",
            dependencies: [
                "LogSync", "LogStore", "LogContainer", "LogFormat", "LogModel", "SimulationVFS",
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
        .testTarget(name: "CommandTests", dependencies: ["LogSync", "LogSyncCommand"], swiftSettings: settings),
        // No product: `make bench` builds it. In this package, because it measures what has `package` access.
        .target(
            name: "SQLiteSession", path: "Benchmarks/SQLiteSession", linkerSettings: [.linkedLibrary("sqlite3")]),
        .executableTarget(
            name: "logsync-benchmarks",
            dependencies: [
                "LogSync", "LogStore", "LogContainer", "LogFormat", "LogModel", "CZstd", "SQLiteSession",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
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
            dependencies: ["LogContainer", "LogFormat", "LogModel", .product(name: "Crypto", package: "swift-crypto")],
            path: "Tests/Fuzz/Sources", swiftSettings: settings))
}
