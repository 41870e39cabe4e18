import LogSyncContainer
import LogSyncModel

/// What there is to say of second versions that a sync engine has kept.
extension FolderExamination {
    /// - Returns: what is said of copies; and what only has the name of one, as a symbolic link.
    func conflictCopies(
        _ entries: [StrangeEntry], _ scan: ContainerScan
    ) -> (findings: [Finding], others: [StrangeEntry]) {
        var (findings, others): ([Finding], [StrangeEntry]) = ([], [])
        // Any number of copies may be of one file.
        var uses: [String: ConflictCopyExamination.Use] = [:]
        for entry in entries {
            guard let copy = ConflictCopy(path: entry.path) else {
                others.append(entry)
                continue
            }
            do throws(FileSystemError) {
                let status = try folder.fileSystem.status("\(folder.path)/\(entry.path)", followingLinks: false)
                guard copy.original == .folder ? status.isDirectory : status.isFile else {
                    others.append(entry)
                    continue
                }
            } catch {
                // One that has vanished meanwhile, or has no name that it could be opened by, is looked at by nobody.
                if error.isAbsence { others.append(entry) } else { findings.append(finding(copy, .unknown)) }
                continue
            }
            if copy.original == .folder {
                findings.append(folderCopy(copy))
                continue
            }
            let use =
                uses[copy.originalPath]
                ?? ConflictCopyExamination(content: folder).use(of: copy) { scan.peers[$0] }
            if use == .none { uses[copy.originalPath] = use }
            findings.append(finding(copy, use))
        }
        return (findings, others)
    }

    private var repair: String { "logsync doctor \(folder.path.asShellArgument) --repair" }

    private func finding(_ copy: ConflictCopy, _ use: ConflictCopyExamination.Use) -> Finding {
        let path = "\(folder.path)/\(copy.path)"
        let original = "\(folder.path)/\(copy.originalPath)"
        switch use {
        case .none: return dispensable(copy, at: path)
        case .replacement:
            return Finding(
                "conflict-copy", .trouble, "a sync engine has kept the only sound version of a file as a conflict copy",
                at: path,
                why:
                    "\(original) is missing or damaged, and the copy has the bytes that its name says; under this name it is "
                    + "not read",
                help: "\(repair) puts it in the place of its original", repair: .restore)
        case .unknown:
            return Finding(
                "conflict-copy", .trouble,
                "a sync engine kept two versions of one file, and neither is known to be sound",
                at: path,
                why:
                    "\(original) is missing, damaged or cannot be read, and so it is with the copy, or its name does not say "
                    + "what it has to hold",
                help: "\(help(for: copy)); delete the copy when the original is sound")
        }
    }

    /// What gives the original back.
    private func help(for copy: ConflictCopy) -> String {
        switch copy.original {
        case .log(let peer, _), .snapshot(let peer, _), .blob(let peer, _): remedy(peer, waits: true)
        case .receipt(let peer), .description(let peer), .schema(let peer, _): documentHelp(peer)
        case .marker, .folder: "look what it is"
        }
    }

    private func dispensable(_ copy: ConflictCopy, at path: String) -> Finding {
        guard case .receipt = copy.original else {
            return Finding(
                "conflict-copy", .trouble, "a sync engine kept two versions of one file", at: path,
                why:
                    "two machines wrote the same file, as where one store was copied with its id; it is not read, and the "
                    + "other version is sound",
                help: "look at logsync status on both stores, then delete this file, or have \(repair) do so",
                repair: .remove)
        }
        return Finding(
            "conflict-copy", .trouble, "a sync engine kept two versions of a receipt", at: path,
            why: "its folder was reverted, or only received for a while; or two machines write under one id, which "
                + "logsync status then says. Neither loses anything: the peer writes its receipt anew, and this one is not "
                + "read",
            help: "delete this file, or have \(repair) do so", repair: .remove)
    }

    /// A copy of a whole folder may hold files that are nowhere else, and is never deleted on the strength of its name.
    private func folderCopy(_ copy: ConflictCopy) -> Finding {
        let original = "\(folder.path)/\(copy.originalPath)"
        return Finding(
            "conflict-copy", .trouble, "a sync engine kept a second version of a whole folder",
            at: "\(folder.path)/\(copy.path)",
            why: "it stands for \(original); what is in it is not read, and may be nowhere else",
            help: "copy into \(original) the files that it lacks, in the same folders, then delete the copy")
    }
}
