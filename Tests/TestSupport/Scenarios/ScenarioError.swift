/// A scenario file that does not say what a scenario has to say.
package struct ScenarioError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
