import CRDKafka

/// Called on the producer's thread, once for each record that `rd_kafka_produceva` took.
func producerDelivered(
    client: OpaquePointer?,
    message: UnsafePointer<rd_kafka_message_t>?,
    opaque: UnsafeMutableRawPointer?
) {
    guard let message = unsafe message?.pointee, let ticket = unsafe message._private else {
        return
    }
    let (delivery, index) = unsafe DeliveryTickets.redeem(ticket)
    let code = unsafe message.err
    if code == RD_KAFKA_RESP_ERR_NO_ERROR {
        unsafe delivery.settle(index, offset: message.offset, error: nil)
    } else {
        delivery.settle(index, offset: -1, error: KafkaError(code))
    }
}
