import ArgumentParser

/// An address and a port to listen on: `127.0.0.1:9090`, `[::1]:9090`, `:9090` or `9090`, the last two on this machine
/// only.
struct ListenAddress: ExpressibleByArgument, Equatable, CustomStringConvertible {
    var address: String
    /// 0 lets the system choose.
    var port: UInt16

    init?(argument: String) {
        let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
        guard let last = parts.last, let port = UInt16(last) else { return nil }
        self.port = port
        var address = parts.dropLast().joined(separator: ":")
        if address.hasPrefix("["), address.hasSuffix("]") {
            address = String(address.dropFirst().dropLast())
        } else if address.contains(":") {
            return nil
        }
        switch address {
        case "": self.address = "127.0.0.1"
        case "localhost": self.address = "127.0.0.1"
        default: self.address = address
        }
    }

    var description: String { address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)" }
}
