import OpenSSL
import Threads

/// Compares passwords one after the other on a thread of its own: a hash takes half a second and
/// 64 MiB, and a flood of sign-ins may have neither twice at once.
actor PasswordCheck {
    private let executor = ThreadExecutor(name: "passwords")

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Whether the user has this password.
    ///
    /// An unknown user costs what a known one costs.
    ///
    /// - Parameter users: all that there are.
    /// - Returns: the user; nil for a wrong name, a wrong password, or where memory is lacking.
    func user(
        _ name: String,
        _ password: String,
        among users: [String: PasswordFile.User]
    ) -> PasswordFile.User? {
        guard password.utf8.count <= PasswordHash.passwordBytesMax else { return nil }
        let known = users[name]
        let dearest = users.values.max { $0.hash.parameters.cost < $1.hash.parameters.cost }
        guard let hash = known?.hash ?? dearest?.hash.decoy else { return nil }
        let isRight = hash.matches(password) ?? false
        return isRight ? known : nil
    }
}
