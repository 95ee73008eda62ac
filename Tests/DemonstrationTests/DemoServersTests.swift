import Testing

@testable import Demonstration
import Operations

@Suite struct DemoServersTests {
    @Test(arguments: [
        ("postgresql://u:p@h:5432/db", "postgresql://u:p@h:5432/db?dbname=demo_1"),
        ("postgresql://h/db?sslmode=require", "postgresql://h/db?sslmode=require&dbname=demo_1"),
        ("host=h dbname=db", "host=h dbname=db dbname=demo_1"),
    ]) func `the run's own database is named on the same server`(given: String, own: String) {
        #expect(DemoServers.naming(database: "demo_1", in: given) == own)
    }
}
