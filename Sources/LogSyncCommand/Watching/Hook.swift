/// The commands of the configuration that a daemon runs.
enum Hook: String, CaseIterable {
    case onImport = "on-import"
    case beforeScan = "before-scan"
    case afterPublish = "after-publish"
}
