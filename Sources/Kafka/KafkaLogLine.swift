/// One line that librdkafka logs.
package struct KafkaLogLine: Sendable {
    /// As in syslog: 3 is an error, 4 a warning, 6 information, 7 debugging.
    package let level: Int32
    /// librdkafka's own name for the place, such as `FAIL` or `REQTMOUT`.
    package let facility: String
    package let message: String
}
