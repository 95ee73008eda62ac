/// A catalog that cannot be used, with every problem that was found in it.
package struct CatalogError: Error, Hashable, Sendable, CustomStringConvertible {
    package var problems: [CatalogProblem]

    package init(problems: [CatalogProblem]) {
        self.problems = problems
    }

    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
