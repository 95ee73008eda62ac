/// Why a root file of an app entry cannot be used.
package struct RootFileError: Error, Hashable, Sendable {
    /// Completes "root file PATH: …".
    package let message: String
}
