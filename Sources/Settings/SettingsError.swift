/// All that is wrong with the settings, at once.
package struct SettingsError: Error, Equatable, Sendable, CustomStringConvertible {
    package let problems: [SettingProblem]

    package init(problems: [SettingProblem]) {
        self.problems = problems
    }

    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
