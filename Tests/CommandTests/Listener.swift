import Foundation

/// A process that prints each datagram that comes to a unix socket.
struct Listener {
    let process: Tool.Process

    init(_ tool: Tool, _ address: String) async throws {
        let script = """
            import socket, sys
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            listener.bind(sys.argv[1].replace("@", "\\0", 1))
            print("listening", flush=True)
            while True: print(listener.recv(4096).decode(), flush=True)
            """
        process = try tool.start(program: "/usr/bin/env", ["python3", "-c", script, address])
        try await process.line { $0 == "listening" }
    }
}
