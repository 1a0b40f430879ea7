import org.rapidoid.buffer.Buf;
import org.rapidoid.config.Conf;
import org.rapidoid.http.AbstractHttpServer;
import org.rapidoid.http.HttpStatus;
import org.rapidoid.http.MediaType;
import org.rapidoid.net.abstracts.Channel;
import org.rapidoid.net.impl.RapidoidHelper;

/** Plaintext HOST PORT: a plaintext server on rapidoid's own HTTP layer, one worker. */
public class Plaintext extends AbstractHttpServer {

    private static final byte[] PATH = "/plaintext".getBytes();
    private static final byte[] BODY = "Hello, World!".getBytes();

    private Plaintext() {
        super("M", "Not Found", "Internal Server Error", false);
    }

    public static void main(String[] args) {
        if (args.length != 2) {
            System.err.println("usage: Plaintext HOST PORT");
            System.exit(2);
        }
        Conf.NET.set("workers", 1);
        Conf.NET.set("noDelay", true);
        // Requests behind the tenth that came at once are otherwise left until another one comes.
        Conf.HTTP.set("maxPipeline", 128);
        new Plaintext().listen(args[0], Integer.parseInt(args[1]));
    }

    @Override
    protected HttpStatus handle(Channel ctx, Buf buf, RapidoidHelper data) {
        if (data.isGet.value && matches(buf, data.path, PATH)) {
            return ok(ctx, data.isKeepAlive.value, BODY, MediaType.TEXT_PLAIN);
        }
        return HttpStatus.NOT_FOUND;
    }
}
