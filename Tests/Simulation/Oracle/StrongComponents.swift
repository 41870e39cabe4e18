/// The strong components of a graph, by Tarjan's algorithm.
struct StrongComponents {
    /// Each after those that its nodes' edges lead to.
    private(set) var dependenciesFirst: [[Int]] = []

    private let edges: [[Int]]
    private var number: [Int?]
    private var low: [Int]
    private var isOnStack: [Bool]
    private var stack: [Int] = []
    private var count = 0

    init(edges: [Set<Int>]) {
        self.edges = edges.map { $0.sorted() }
        number = Array(repeating: nil, count: edges.count)
        low = Array(repeating: 0, count: edges.count)
        isOnStack = Array(repeating: false, count: edges.count)
        for node in edges.indices where number[node] == nil { visit(node) }
    }

    private mutating func visit(_ node: Int) {
        let own = count
        number[node] = own
        low[node] = own
        count += 1
        stack.append(node)
        isOnStack[node] = true
        for next in edges[node] {
            if let known = number[next] {
                if isOnStack[next] { low[node] = min(low[node], known) }
            } else {
                visit(next)
                low[node] = min(low[node], low[next])
            }
        }
        guard low[node] == own else { return }
        var component: [Int] = []
        while let last = stack.popLast() {
            isOnStack[last] = false
            component.append(last)
            if last == node { break }
        }
        dependenciesFirst.append(component)
    }
}
