import Kafka

extension KafkaAdmin {
    /// Lends a client to `body` and closes it afterwards, however that ends.
    static func lend<T>(
        _ configuration: [String: String],
        _ body: (KafkaAdmin) async throws -> T
    ) async throws -> T {
        let admin = try KafkaAdmin(configuration: configuration)
        do {
            let value = try await body(admin)
            await admin.close()
            return value
        } catch {
            await admin.close()
            throw error
        }
    }
}
