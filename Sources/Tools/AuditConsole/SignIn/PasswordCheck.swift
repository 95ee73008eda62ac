import OpenSSL
import Synchronization
import Threads

/// Checks passwords one at a time on its own thread.
///
/// A hash takes half a second and 64 MiB; a flood of sign-ins must not take more at once.
///
/// The queue is bounded, because each of its attempts holds one of the server's answers
/// (`HTTPLimits.answersMax`), which the pages of signed-in users also need.
actor PasswordCheck {
    /// Maximum attempts, waiting or running: less than a sixth of the server's answers.
    static let attemptsMax = 5

    private let attempts = Mutex(0)
    private let executor = ThreadExecutor(name: "passwords")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Holds a slot of the queue while `body` runs.
    ///
    /// - Returns: the result of `body`; `nil`, without a call of `body`, if the queue is full.
    nonisolated func withPlace<Result>(_ body: () async -> Result) async -> Result? {
        let hasPlace = attempts.withLock { count in
            guard count < Self.attemptsMax else { return false }
            count += 1
            return true
        }
        guard hasPlace else { return nil }
        defer { attempts.withLock { $0 -= 1 } }
        return await body()
    }

    /// The user with this name and password.
    ///
    /// A check of an unknown name takes as long as one of a known name.
    ///
    /// - Parameter users: all users of the file.
    /// - Returns: `nil` if the name or the password is wrong, or if memory is lacking.
    func user(_ name: String, _ password: String, among users: [String: PasswordFile.User]) -> PasswordFile.User? {
        guard password.utf8.count <= PasswordHash.passwordBytesMax else { return nil }
        let known = users[name]
        let dearest = users.values.max { $0.hash.parameters.cost < $1.hash.parameters.cost }
        guard let hash = known?.hash ?? dearest?.hash.decoy else { return nil }
        let isRight = hash.matches(password) ?? false
        return isRight ? known : nil
    }
}
