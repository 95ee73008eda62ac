import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertPathValidator;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The plain design that {@code bench pipeline --beside} measures the workers against: one process
 * reads the raw topic, verifies each signed transaction and upserts its row.
 *
 * <p>It keeps no history, forwards nothing and forgets what it refuses. Verified chains are cached;
 * signatures are verified by OpenSSL through JNI, as Amazon's provider verifies them by AWS-LC.
 * THREADS consumers work side by side, one by default.
 */
final class DirectWorker implements Runnable {
    private static final String UPSERT = """
        INSERT INTO direct_purchases
            (transaction_id, original_id, app_account_token, product_id, expires, revoked, signed)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (transaction_id) DO UPDATE
            SET expires = excluded.expires, revoked = excluded.revoked, signed = excluded.signed
            WHERE direct_purchases.signed < excluded.signed
        """;

    /** Takes the leaf's public key as a DER SubjectPublicKeyInfo and an r‖s signature. */
    static native boolean verify(byte[] key, byte[] message, int length, byte[] signature);

    private static final Map<String, byte[]> verifiedLeafKeys = new ConcurrentHashMap<>();
    private final ObjectMapper json = new ObjectMapper();
    private final X509Certificate root;

    private DirectWorker(X509Certificate root) {
        this.root = root;
    }

    public static void main(String[] arguments) throws Exception {
        System.load(System.getenv("VERIFY_LIBRARY"));
        X509Certificate root;
        try (FileInputStream file = new FileInputStream(System.getenv("ROOT_FILE"))) {
            root = (X509Certificate) CertificateFactory.getInstance("X.509")
                .generateCertificate(file);
        }
        try (Connection connection = connect()) {
            connection.createStatement().execute("""
                CREATE TABLE IF NOT EXISTS direct_purchases (
                    transaction_id text PRIMARY KEY, original_id text NOT NULL,
                    app_account_token text, product_id text NOT NULL,
                    expires bigint, revoked bigint, signed bigint NOT NULL)
                """);
            connection.createStatement().execute("CREATE INDEX IF NOT EXISTS direct_purchases_user"
                + " ON direct_purchases (app_account_token)");
        }
        List<Thread> threads = new ArrayList<>();
        int count = Integer.parseInt(System.getenv().getOrDefault("THREADS", "1"));
        for (int i = 0; i < count; i++) {
            threads.add(new Thread(new DirectWorker(root)));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static Connection connect() throws SQLException {
        URI url = URI.create(System.getenv("DATABASE_URL"));
        String[] login = url.getUserInfo().split(":");
        return DriverManager.getConnection(
            "jdbc:postgresql://" + url.getAuthority().split("@")[1] + url.getPath()
                + "?reWriteBatchedInserts=true",
            login[0], login[1]);
    }

    @Override
    public void run() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", System.getenv("KAFKA_BOOTSTRAP"));
        settings.put("group.id", System.getenv("KAFKA_GROUP"));
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("max.poll.records", "2000");
        settings.put("max.partition.fetch.bytes", "10485760");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            Connection connection = connect();
            PreparedStatement upsert = connection.prepareStatement(UPSERT)) {
            connection.setAutoCommit(false);
            consumer.subscribe(Set.of(System.getenv("RAW_TOPIC")));
            while (true) {
                Map<String, JsonNode> purchases = new HashMap<>();
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    keepNewest(purchases, verified(record.value()));
                }
                if (!purchases.isEmpty()) {
                    store(purchases, upsert);
                    connection.commit();
                }
                consumer.commitSync();
            }
        } catch (SQLException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void keepNewest(Map<String, JsonNode> purchases, JsonNode purchase) {
        if (purchase != null) {
            purchases.merge(purchase.get("transactionId").textValue(), purchase, (old, other) ->
                old.get("signedDate").longValue() < other.get("signedDate").longValue()
                    ? other : old);
        }
    }

    /** Returns null for what is refused. */
    private JsonNode verified(byte[] token) {
        try {
            int first = indexOf(token, 0);
            int second = indexOf(token, first + 1);
            Base64.Decoder base64 = Base64.getUrlDecoder();
            JsonNode header = json.readTree(base64.decode(Arrays.copyOfRange(token, 0, first)));
            JsonNode payload = json.readTree(
                base64.decode(Arrays.copyOfRange(token, first + 1, second)));
            byte[] signature =
                base64.decode(Arrays.copyOfRange(token, second + 1, token.length));
            boolean isGood = header.get("alg").textValue().equals("ES256")
                && payload.get("bundleId").textValue().equals(System.getenv("BUNDLE_ID"))
                && verify(leafKey(header.get("x5c"), payload), token, second, signature);
            return isGood ? payload : null;
        } catch (Exception error) {
            return null;
        }
    }

    private static int indexOf(byte[] token, int start) {
        int index = start;
        while (token[index] != '.') {
            index++;
        }
        return index;
    }

    /** Verifies a chain when it is first seen. */
    private byte[] leafKey(JsonNode chain, JsonNode payload) throws Exception {
        String name = chain.get(0).textValue() + "." + chain.get(1).textValue();
        byte[] known = verifiedLeafKeys.get(name);
        if (known != null) {
            return known;
        }
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        List<X509Certificate> certificates = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            certificates.add((X509Certificate) factory.generateCertificate(new ByteArrayInputStream(
                Base64.getDecoder().decode(
                    chain.get(i).textValue().getBytes(StandardCharsets.US_ASCII)))));
        }
        PKIXParameters parameters = new PKIXParameters(Set.of(new TrustAnchor(root, null)));
        parameters.setRevocationEnabled(false);
        parameters.setDate(new Date(payload.get("signedDate").longValue()));
        CertPathValidator.getInstance("PKIX")
            .validate(factory.generateCertPath(certificates), parameters);
        byte[] key = certificates.get(0).getPublicKey().getEncoded();
        verifiedLeafKeys.put(name, key);
        return key;
    }

    private static void store(Map<String, JsonNode> purchases, PreparedStatement upsert)
        throws SQLException {
        List<String> ids = new ArrayList<>(purchases.keySet());
        ids.sort(null);
        for (String id : ids) {
            JsonNode purchase = purchases.get(id);
            upsert.setString(1, id);
            upsert.setString(2, purchase.get("originalTransactionId").textValue());
            upsert.setString(3, text(purchase, "appAccountToken"));
            upsert.setString(4, purchase.get("productId").textValue());
            upsert.setObject(5, number(purchase, "expiresDate"), java.sql.Types.BIGINT);
            upsert.setObject(6, number(purchase, "revocationDate"), java.sql.Types.BIGINT);
            upsert.setLong(7, purchase.get("signedDate").longValue());
            upsert.addBatch();
        }
        upsert.executeBatch();
    }

    private static String text(JsonNode purchase, String name) {
        return purchase.hasNonNull(name) ? purchase.get(name).textValue() : null;
    }

    private static Long number(JsonNode purchase, String name) {
        return purchase.hasNonNull(name) ? purchase.get(name).longValue() : null;
    }
}
