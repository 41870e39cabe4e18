import Foundation

/// What a client asks the metrics' server for.
struct MetricsRequest {
    let method: String
    /// Without what follows a question mark.
    let path: String
    /// Whether the server was asked for by an address, or by the one name that nobody can give to another machine. A request
    /// of HTTP/1.0 names no server.
    let isForAddress: Bool

    /// - Parameter header: all of it, up to the empty line.
    init(_ header: String) {
        let lines = header.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let words = lines.first?.split(separator: " ", maxSplits: 2).map(String.init) ?? []
        method = words.first ?? ""
        path = words.count > 1 ? words[1].split(separator: "?").first.map(String.init) ?? "" : ""
        let hosts = lines.dropFirst().prefix { !$0.isEmpty }.compactMap { line -> String? in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "host" else { return nil }
            return parts[1].trimmingCharacters(in: .whitespaces)
        }
        isForAddress = hosts.count <= 1 && hosts.allSatisfy(Self.isAddress)
    }

    private static func isAddress(_ host: String) -> Bool {
        var name = Substring(host)
        if let colon = name.lastIndex(of: ":"), name[colon...].dropFirst().allSatisfy(\.isNumber),
            name.hasPrefix("[") ? name[..<colon].hasSuffix("]") : name.firstIndex(of: ":") == colon
        {
            name = name[..<colon]
        }
        if name.hasPrefix("["), name.hasSuffix("]") {
            var address = in6_addr()
            return inet_pton(AF_INET6, String(name.dropFirst().dropLast()), &address) == 1
        }
        var address = in_addr()
        let lower = name.lowercased()
        return lower == "localhost" || lower == "localhost." || inet_pton(AF_INET, String(name), &address) == 1
    }
}
