/// A large value with shared storage: copies refer to one storage, and a change makes a new storage.
///
/// The type is public, because the compiler inlines no package declaration in another module: `shared.member` is then
/// as fast as a member of the value. A key path passed as a function, such as `map(\.member)`, is slow; a closure is
/// not.
@dynamicMemberLookup public struct Shared<Value: Sendable>: Sendable {
    @usableFromInline final class Storage: Sendable {
        @usableFromInline let value: Value

        @inlinable init(_ value: Value) { self.value = value }
    }

    @usableFromInline var storage: Storage

    @inlinable public init(_ value: Value) { storage = Storage(value) }

    @inlinable public var value: Value {
        get { storage.value }
        set { storage = Storage(newValue) }
    }

    /// Calls a function with the value, without a copy.
    @inlinable public func read<Result>(_ part: (Value) -> Result) -> Result { part(storage.value) }

    @inlinable public subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member {
        storage.value[keyPath: member]
    }
}

extension Shared: Equatable where Value: Equatable {
    @inlinable public static func == (left: Shared, right: Shared) -> Bool {
        left.storage === right.storage || left.value == right.value
    }
}

extension Shared: Hashable where Value: Hashable {
    @inlinable public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
