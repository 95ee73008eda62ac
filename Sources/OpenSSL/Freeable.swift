/// A kind of OpenSSL object, and the call that gives it back.
protocol Freeable {
    /// Gives back what the caller owns; `pointer` is dead afterwards.
    static func free(_ pointer: OpaquePointer)
}
