import LogSyncModel

/// Tarjan's strong components of a graph, dependencies first; without recursion, because chains may be long.
struct StrongComponents {
    private(set) var components: [[Candidate]] = []

    init(_ nodes: [Candidate], edges: (Candidate) -> [Candidate]) {
        var number: [RowName: Int] = [:]
        var low: [RowName: Int] = [:]
        var onStack: Set<RowName> = []
        var stack: [Candidate] = []
        for root in nodes where number[root.name] == nil {
            var path: [(node: Candidate, rest: [Candidate])] = []
            func enter(_ node: Candidate) {
                number[node.name] = number.count
                low[node.name] = number[node.name]
                stack.append(node)
                onStack.insert(node.name)
                path.append((node, edges(node)))
            }
            enter(root)
            while let last = path.indices.last {
                let node = path[last].node
                if let next = path[last].rest.popLast() {
                    if number[next.name] == nil {
                        enter(next)
                    } else if onStack.contains(next.name) {
                        low[node.name] = min(low[node.name] ?? 0, number[next.name] ?? 0)
                    }
                    continue
                }
                path.removeLast()
                if let parent = path.last?.node {
                    low[parent.name] = min(low[parent.name] ?? 0, low[node.name] ?? 0)
                }
                guard low[node.name] == number[node.name] else { continue }
                var component: [Candidate] = []
                while let top = stack.popLast() {
                    onStack.remove(top.name)
                    component.append(top)
                    if top === node { break }
                }
                components.append(component)
            }
        }
    }
}
