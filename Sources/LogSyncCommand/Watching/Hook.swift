/// The commands of the configuration that a daemon runs.
enum Hook: String {
    case onImport = "on-import"
    case beforeScan = "before-scan"
    case afterPublish = "after-publish"
}
