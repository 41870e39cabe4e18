import Foundation
import Testing

/// Mounts that only the tool itself sees.
private enum Mounts {
    static let isPossible: Bool = {
        guard Program.isInstalled(Program.unshare) else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Program.unshare)
        process.arguments = ["-rm", Program.shell, "-c", "mount -t tmpfs -o size=64k none /mnt"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}

/// Containers and disks that cannot take what they are given, made with mounts.
@Suite(.turn, .enabled(if: Mounts.isPossible, "mounting in a namespace of its own is not permitted here"))
struct MountTests {
    /// Runs a script that may mount; `$C` is the container, `$S` the stores' folder, `$T` an empty folder, `$L` the tool.
    private func mounted(_ script: String, as peer: Peer) async throws -> Finished {
        let scratch = peer.sandbox.folder("scratch")
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
        var environment = peer.environment
        environment["C"] = peer.sandbox.container.path
        environment["S"] = peer.sandbox.folder("stores").path
        environment["T"] = scratch.path
        environment["L"] = Program.logsync
        environment["STORE"] = peer.path
        return try await peer.sandbox.run(
            Program.unshare, ["-rm", Program.shell, "-c", "set -e\n" + script], environment: environment)
    }

    @Test func `a container that may only be read: changes are recorded and wait, others' changes are imported`()
        async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 3)
            try await two.add(rows: 2, tag: "right")
            try await two.sync()
            try await one.add(rows: 2, tag: "left")
            let finished = try await mounted(
                "mount --bind \"$C\" \"$C\"; mount -o remount,bind,ro \"$C\"; exec \"$L\" sync \"$STORE\"", as: one)
            #expect([73, 74, 77].contains(finished.code), "\(finished.code) \(finished.errors)")
            #expect(!finished.errors.isEmpty)
            #expect(try await one.status()["outbox"].int == 1)
            #expect(try await one.count("Artist") == 7)
            try await exchange(one, two)
            try await sandbox.expect(.meaning, [one, two])
        }
    }

    @Test(arguments: ["8k", "64k"])
    func `a container that is full: nothing half-written counts, and once there is room it goes on`(room: String)
        async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "trading", rows: 3)
            try await one.write("UPDATE Categories SET Picture = randomblob(400000);")
            let before = try await one.status()["vector"]
            let finished = try await mounted(
                """
                size=$(du -s --block-size=1024 "$C" | cut -f1)
                mount -t tmpfs -o size=$((size + \(room.dropLast())))k none "$T"
                cp -a "$C/." "$T"; mount --bind "$T" "$C"
                set +e; "$L" sync "$STORE"; code=$?; set -e
                find "$C" -name '*.tlog' >&2
                exit $code
                """, as: one)
            #expect([73, 74].contains(finished.code), "\(finished.code) \(finished.errors)")
            let status = try await one.status()
            #expect(status["outbox"].int == 1 && status["vector"] != before, "\(status)")
            try await exchange(one, two)
            try await sandbox.expect(.equal, [one, two])
        }
    }

    @Test func `a store whose disk is full stays sound, and imports once there is room`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "trading", rows: 3)
            try await one.write("UPDATE Categories SET Picture = randomblob(900000);")
            try await one.sync()
            let finished = try await mounted(
                """
                size=$(du -s --block-size=1024 "$S" | cut -f1)
                mount -t tmpfs -o size=$((size + 12000))k none "$T"
                cp -a "$S/." "$T"; mount --bind "$T" "$S"
                head -c 11500k /dev/zero > "$S/filler"
                set +e; "$L" sync "$STORE" >&2; code=$?; set -e
                test "$(sqlite3 "$STORE" 'PRAGMA integrity_check')" = ok || exit 101
                rm "$S/filler"
                "$L" sync "$STORE" >&2 || exit 102
                test "$(sqlite3 "$STORE" 'SELECT count(*) FROM Categories WHERE length(Picture) = 900000')" = 3 || exit 103
                exit $code
                """, as: two)
            #expect([73, 74].contains(finished.code), "\(finished.code) \(finished.errors)")
        }
    }

    @Test func `a daemon lets go of a store whose disk has no room for what the log has`() async throws {
        try await withSandbox { sandbox in
            let (one, _) = try await sandbox.pair(schema: "trading", rows: 3)
            let finished = try await mounted(
                """
                size=$(du -s --block-size=1024 "$S" | cut -f1)
                mount -t tmpfs -o size=$((size + 12000))k none "$T"
                cp -a "$S/." "$T"; mount --bind "$T" "$S"
                "$L" watch "$STORE" > "$T-said" 2>&1 & daemon=$!
                holds() { ls -l /proc/$daemon/fd | grep --quiet -F "$STORE"; }
                for i in $(seq 600); do grep --quiet 'is ready' "$T-said" && break; sleep 0.1; done
                files() { find "$C" -name '*.tlog' | wc -l; }
                before=$(files)
                # Room for the log, with the transaction for the outbox, and not for what it has in the database as well.
                head -c $(($(df --output=avail -k "$S" | tail -1) - 3000))k /dev/zero > "$S/filler"
                mkfifo "$T-orders"; sqlite3 "$STORE" < "$T-orders" > /dev/null & program=$!
                exec 3> "$T-orders"
                echo "UPDATE Categories SET Picture = randomblob(300000);" >&3
                for i in $(seq 600); do test "$(files)" -gt "$before" && break; sleep 0.1; done
                kill -KILL $program; wait $program 2> /dev/null || true
                code=101
                for i in $(seq 100); do sleep 0.1; holds || { code=0; break; }; done
                test "$(stat -c %s "$STORE-wal")" -gt 900000 || code=102
                rm "$S/filler"
                test "$(sqlite3 "$STORE" 'SELECT count(*) FROM Categories WHERE length(Picture) = 300000')" = 3 || code=103
                kill $daemon; wait $daemon || code=104
                cat "$T-said" >&2
                exit $code
                """, as: one)
            #expect(finished.code == 0, "\(finished.code) \(finished.errors)")
        }
    }
}
