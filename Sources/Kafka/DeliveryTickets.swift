/// The opaque pointers of one delivery's records: each points to a ticket that names its place.
///
/// One allocation for the whole delivery, freed with the last of its tickets.
@safe
final class DeliveryTickets: @unchecked Sendable {
    @safe
    struct Ticket {
        let owner: Unmanaged<DeliveryTickets>
        let index: Int
    }

    let delivery: Delivery
    private let tickets: UnsafeMutableBufferPointer<Ticket>

    init(_ delivery: Delivery, count: Int) {
        self.delivery = delivery
        unsafe tickets = .allocate(capacity: count)
        for index in 0..<count {
            let ticket = unsafe Ticket(owner: .passUnretained(self), index: index)
            unsafe tickets.initializeElement(at: index, to: ticket)
        }
    }

    deinit {
        unsafe tickets.deallocate()
    }

    /// A pointer for librdkafka, which gives it back exactly once: to `redeem(_:)`.
    func issue(_ index: Int) -> UnsafeMutableRawPointer? {
        _ = unsafe Unmanaged.passRetained(self)
        guard let first = unsafe tickets.baseAddress else { return nil }
        return unsafe UnsafeMutableRawPointer(first + index)
    }

    /// Takes back a pointer and returns whose it was.
    static func redeem(_ pointer: UnsafeMutableRawPointer) -> (Delivery, index: Int) {
        let ticket = unsafe pointer.assumingMemoryBound(to: Ticket.self).pointee
        let delivery = unsafe ticket.owner.takeUnretainedValue().delivery
        let index = ticket.index
        unsafe ticket.owner.release()
        return (delivery, index)
    }
}
