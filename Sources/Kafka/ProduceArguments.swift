import CRDKafka

/// The arguments of one `rd_kafka_produceva`, filled into memory of the caller.
@safe
struct ProduceArguments {
    private let slots: UnsafeMutableBufferPointer<rd_kafka_vu_t>
    private(set) var count = 0

    init(_ slots: UnsafeMutableBufferPointer<rd_kafka_vu_t>) {
        unsafe self.slots = slots
    }

    mutating func append(
        _ type: rd_kafka_vtype_t,
        _ fill: (inout rd_kafka_vu_s.__Unnamed_union_u) -> Void
    ) {
        var argument = unsafe rd_kafka_vu_t()
        unsafe argument.vtype = type
        unsafe fill(&argument.u)
        unsafe slots.initializeElement(at: count, to: argument)
        count += 1
    }
}
