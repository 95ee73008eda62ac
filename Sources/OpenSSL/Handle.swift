/// The one owner of one OpenSSL object.
///
/// The object is given back when the handle ends. Whoever takes `pointer` borrows it: it is alive
/// only as long as the handle's owner.
@safe
struct Handle<Kind: Freeable>: ~Copyable {
    let pointer: OpaquePointer

    init(takingOwnershipOf pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    /// Nil where OpenSSL answered NULL.
    init?(takingOwnershipOf pointer: OpaquePointer?) {
        guard let pointer = unsafe pointer else { return nil }
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe Kind.free(pointer)
    }
}
