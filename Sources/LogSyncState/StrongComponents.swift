/// Tarjan's strong components of a graph, dependencies first; without recursion, because chains may be long.
///
/// Nodes are numbers from 0. Source: R. Tarjan, Depth-first search and linear graph algorithms, 1972.
package struct StrongComponents {
    /// Nodes by component, each component after all that its nodes depend on.
    package private(set) var components: [[Int]] = []

    /// - Parameters:
    ///   - count: how many nodes there are.
    ///   - edges: the nodes that a node depends on; asked once for each node.
    package init(count: Int, edges: (Int) -> [Int]) {
        var next = 0
        var number = [Int?](repeating: nil, count: count)
        var low = [Int](repeating: 0, count: count)
        var isOnStack = [Bool](repeating: false, count: count)
        var stack: [Int] = []
        var path: [(node: Int, rest: [Int])] = []
        func enter(_ node: Int) {
            number[node] = next
            low[node] = next
            next += 1
            stack.append(node)
            isOnStack[node] = true
            path.append((node, edges(node)))
        }
        for root in 0..<count where number[root] == nil {
            enter(root)
            while let last = path.indices.last {
                let node = path[last].node
                if let other = path[last].rest.popLast() {
                    guard let known = number[other] else {
                        enter(other)
                        continue
                    }
                    if isOnStack[other] { low[node] = min(low[node], known) }
                    continue
                }
                path.removeLast()
                if let parent = path.last?.node { low[parent] = min(low[parent], low[node]) }
                guard low[node] == number[node] else { continue }
                var component: [Int] = []
                while let top = stack.popLast() {
                    isOnStack[top] = false
                    component.append(top)
                    if top == node { break }
                }
                components.append(component)
            }
        }
    }
}
