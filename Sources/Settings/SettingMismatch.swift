/// Why an input is no value of its kind: one entry for each fault in it.
package struct SettingMismatch: Error, Equatable, Sendable {
    package struct Fault: Equatable, Sendable {
        /// Where inside the value, such as `[0].environment`; empty for the whole.
        package let place: String
        /// What is wrong there and what was expected; never the value itself.
        package let message: String

        package init(place: String = "", message: String) {
            self.place = place
            self.message = message
        }
    }

    package let faults: [Fault]

    package init(_ faults: [Fault]) {
        self.faults = faults
    }

    /// The whole value is not what the kind expects.
    static let whole = SettingMismatch([])
}
