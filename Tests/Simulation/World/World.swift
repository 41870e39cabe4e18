/// What a scenario runs in.
protocol World: AnyObject {
    /// - Parameter trace: is told of each step before it is made.
    func run(trace: @escaping (String) -> Void) async throws
    func close() async
    /// What it came to, once it has run.
    var yield: Yield { get }
}
