package struct RootFileError: Error, Hashable, Sendable {
    /// Completes "root file PATH: …".
    package let message: String
}
