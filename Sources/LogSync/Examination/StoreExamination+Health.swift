import LogSyncModel
import LogSyncStore

// What SQLite and the store's own records say of the rows.

extension StoreExamination {
    func health(_ health: StoreHealth) -> [Finding] {
        var findings: [Finding] = []
        if let first = health.integrity.first {
            let more = health.integrity.count > 1 ? ", and \(health.integrity.count - 1) more" : ""
            findings.append(
                Finding(
                    "corrupt-database", .damage, "the database is corrupt", at: path, why: "\(first)\(more)",
                    help: "clone the content anew beside it; or sqlite3 .recover, put the result in its place and run "
                        + "logsync rescan"))
        }
        findings += unfitting(health)
        if !health.unchecked.isEmpty {
            findings.append(
                Finding(
                    "unchecked", .note, "\(health.unchecked.joined(separator: ", ")) could not be checked", at: path,
                    why: "it uses a collation, function or module that only its program has",
                    help: "run PRAGMA integrity_check in that program"))
        }
        if !health.withoutTriggers.isEmpty {
            findings.append(
                Finding(
                    "no-triggers", .trouble, "changes are not captured",
                    at: "\(path): \(health.withoutTriggers.joined(separator: ", "))",
                    why: "the triggers of these tables are gone, as after a table was rebuilt",
                    help: "run logsync rescan on the store; logsync migrate keeps capture right through a migration"))
        }
        for table in health.droppedTables {
            findings.append(
                Finding(
                    "dropped-table", .trouble, "a table that logsync keeps is gone", at: "\(path): \(table)",
                    why: "another program has dropped it, as tools do with tables that they do not know",
                    help:
                        "run logsync sync on the store, which makes it again from its records; have that tool leave out "
                        + "names that begin with logsync_"))
        }
        for (table, count) in health.differing.sorted(by: { $0.key < $1.key }) {
            findings.append(
                Finding(
                    "uncaptured-changes", .trouble,
                    count.counted("row differs from what was last recorded", "rows differ from what was last recorded"),
                    at: "\(path): \(table)", why: "they were changed behind the triggers' back",
                    help: "run logsync rescan on the store, which records them"))
        }
        findings += brokenKeys(
            health.brokenForeignKeys,
            why: "a program wrote with foreign_keys off; such a key is not enforced by logsync any more",
            help: "sqlite3 STORE 'PRAGMA foreign_key_check' lists them")
        findings += brokenKeys(
            health.strandedRows,
            why: "the table is not replicated, and another peer has deleted what they refer to; a program that checks "
                + "its keys, as some do before a migration, fails",
            help: "sqlite3 STORE 'PRAGMA foreign_key_check' lists them; delete them, or let the program")
        findings += health.laggingCounters.map { counter in
            Finding(
                "counter-behind", .trouble, "the program's note of its integers is below those of the rows",
                at: "\(path): \(counter.note)",
                why: "a constraint or a trigger keeps it from being raised above what has come in \(counter.counted)",
                help: "set it to \(counter.wanted) at least, or change what refuses that; until then the next "
                    + "row of the program's may take the integer of another one")
        }
        if !health.emptied.isEmpty {
            let columns = health.emptied.joined(separator: ", ")
            findings.append(
                Finding(
                    "column-emptied", .note, "\(columns) may lack values that others wrote", at: path,
                    why:
                        "the program dropped it, or its table, and made it again, here or where a snapshot comes from that was "
                        + "joined; what other machines had written there by then may be shown by them and not here",
                    help:
                        "logsync verify \(path.asShellArgument) compares the rows with what the transactions say; with --refill it "
                        + "gives them what is missing, also what a column held before it was dropped"))
        }
        for column in health.otherColumns {
            findings.append(
                Finding(
                    "other-column", .trouble, "\(column) is not what other peers have under its name",
                    at: "\(path): \(column)",
                    why:
                        "a migration has renamed a column or made a new one, and two peers found it to be different ones: what "
                        + "one writes there is not shown by the other",
                    help: "clone the content anew beside the store, and write to the clone what this store alone shows")
            )
        }
        for (column, parent) in health.remainingReferences.sorted(by: { $0.key < $1.key }) {
            findings.append(
                Finding(
                    "kept-reference", .note, "it goes on referring to \(parent)", at: "\(path): \(column)",
                    why: "its foreign key was dropped; the rows of every peer go on naming the rows that they named",
                    help: "nothing has to be done"))
        }
        for (column, parent) in health.writtenOut.sorted(by: { $0.key < $1.key }) {
            findings.append(
                Finding(
                    "untranslated-texts", .trouble,
                    "it names rows of \(parent) by integers that are written as texts or as real numbers",
                    at: "\(path): \(column)",
                    why:
                        "its type makes these of them, and they are not translated: on another peer they are other rows",
                    help:
                        "give the column an integer type on every peer, each of which says then what it has written; where the "
                        + "column names no rows, logsync migrate \(path) --no-reference \(column)"))
        }
        findings += health.undecidable.map { index in
            Finding(
                "undecidable-index", .trouble, "peers cannot agree on which rows \(index.index) allows",
                at: "\(path): \(index.table)",
                why: "the table \(index.reason); a row that another peer shows may be refused here, and wait",
                help: index.remedy)
        }
        findings += health.generatedKeys.map { key in
            Finding(
                "generated-key", .note, "\(key.complaint)", at: "\(path): \(key.child)",
                why: key.consequence, help: key.remedy)
        }
        for (column, count) in health.untranslated.sorted(by: { $0.key < $1.key }) {
            findings.append(
                Finding(
                    "untranslated-numbers", .note,
                    count.counted(
                        "row has a number there that names no row yet", "rows have numbers there that name no row yet"),
                    at: "\(path): \(column)",
                    why: "they were written before a foreign key was declared, by peers that have not said since which "
                        + "rows they meant",
                    help: "let those peers sync; a row that is given another parent here names that one"))
        }
        for (table, former) in health.leftByAnotherName {
            findings.append(
                Finding(
                    "left-out", .note, "a table is left out because it is taken for \(former) under another name",
                    at: "\(path): \(table)",
                    why: "\(former) was left out with --skip or --local, went, and this one has its columns",
                    help:
                        "where it is another, leave the content with logsync leave, which says how to take part again")
            )
        }
        for (name, other) in health.sameLetters {
            findings.append(
                Finding(
                    "same-letters", .trouble, "it is not replicated, because \(other) is of the same letters",
                    at: "\(path): \(name)",
                    why: "the names are written with other bytes, and one would be taken for the other",
                    help: "give it another name"))
        }
        for table in health.untracked {
            let isNamedAsOurs = table.folded.hasPrefix("logsync_")
            findings.append(
                Finding(
                    "not-replicated", .trouble, "a table is not replicated", at: "\(path): \(table)",
                    why: isNamedAsOurs
                        ? "its name begins with logsync_, as only logsync's own may"
                        : "logsync cannot write it, or it holds the version of its program's schema",
                    help: isNamedAsOurs
                        ? "give it another name" : "leave it out with logsync init --skip or --local the next time"))
        }
        return findings
    }

    /// Sound rows that break what their tables declare.
    private func unfitting(_ health: StoreHealth) -> [Finding] {
        let checks = health.brokenChecks.sorted { $0.key < $1.key }.map { table, count in
            Finding(
                "broken-check", .trouble,
                count.counted("row breaks a CHECK constraint", "rows break a CHECK constraint"),
                at: "\(path): \(table)",
                why: "two peers wrote halves of a row that do not go together, or a program wrote with "
                    + "ignore_check_constraints; the rows are sound, and nothing is lost",
                help: "logsync conflicts list STORE shows those that peers broke together; write values that keep to it"
            )
        }
        let values = health.unfitValues.sorted { $0.key < $1.key }.map { complaint, count in
            Finding(
                "unfit-value", .trouble,
                count.counted("value is", "values are") + " not what the column is declared to hold", at: path,
                why: "\(complaint), as after the table's declaration was changed; the database is sound",
                help: "write values that fit; sqlite3 STORE 'PRAGMA quick_check' lists them")
        }
        return checks + values
    }

    /// Rows that refer to none, by table.
    private func brokenKeys(_ counts: [String: Int], why: String, help: String) -> [Finding] {
        counts.sorted { $0.key < $1.key }.map { table, count in
            Finding(
                "broken-foreign-key", .trouble,
                count.counted("row refers to a row that is not there", "rows refer to rows that are not there"),
                at: "\(path): \(table)", why: why, help: help)
        }
    }
}
