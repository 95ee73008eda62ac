import OpenSSL

extension DemoScript {
    /// Signs settled states anew: the same content with a newer date, which changes nothing.
    mutating func writeResigned(count: Int) throws(KeyError) {
        for _ in 0..<count {
            guard let index = settled.indices.randomElement(using: &generator) else { return }
            settled[index].signedDate = now - Int64.random(in: 0..<Self.day, using: &generator)
            publish(
                Body.transactionInfo(try authority.sign(settled[index].json)),
                as: .resigned
            )
        }
    }

    /// Publishes genuine records again, byte for byte.
    mutating func writeRepetitions(count: Int) {
        let genuine = items.filter { $0.expectedRefusal == nil && $0.kind != .emptyResponse }
        for _ in 0..<max(0, count) {
            guard let item = genuine.randomElement(using: &generator) else { return }
            let isNotification = item.headers.isEmpty && item.key != nil
            publish(
                item.value,
                as: isNotification ? .retried : .duplicate,
                key: item.key,
                headers: item.headers
            )
        }
    }
}
