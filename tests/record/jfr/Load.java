/* SPDX-License-Identifier: MIT */
import java.io.*;
import java.lang.reflect.Method;
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.*;

/**
 * Load of every kind for a recorder: "Load SECONDS [KINDS]", all kinds or some of cpu,deep,alloc,lock,throw,io,sleep,virtual.
 * From Java 8 on; virtual threads where there are any.
 */
public class Load {
	static volatile long sink;
	static final Object monitor = new Object(), waiting = new Object();
	static final ReentrantLock lock = new ReentrantLock();
	static final List<Object> leak = Collections.synchronizedList(new ArrayList<>());
	static volatile boolean stop;

	static long hotInner(long n) {
		long a = 1;
		for (long i = 1; i < n; i++)
			a = a * 6364136223846793005L + i;
		return a;
	}
	static long hotTwice(long n) { return hotInner(n) + hotInner(n); }
	static long hotOnce(long n) { return hotInner(n); }
	static void burn() {
		sink += hotTwice(20000);
		sink += hotOnce(20000);
		LongUnaryOperator f = x -> hotInner(x) ^ x;
		sink += f.applyAsLong(20000);
	}
	static long deep(int n, long m) { return n == 0 ? hotInner(m) : deep(n - 1, m) + 1; }
	static long deepStream() {
		return Arrays.asList(1, 2, 3, 4, 5, 6, 7, 8).stream().map(x -> x + 1).filter(x -> x % 2 == 0)
			.mapToLong(x -> hotInner(x * 3000L)).sum();
	}
	static void allocate(int i) {
		byte[] small = new byte[i % 500 + 16];
		int[] big = i % 1000 == 0 ? new int[300000] : null;
		String s = "x" + i;
		Object[][] grid = new Object[3][4];
		sink += small.length + s.length() + grid.length + (big == null ? 0 : big.length);
		if (i % 500 == 0)
			leak.add(new long[200]);
		if (leak.size() > 5000)
			leak.clear();
	}
	static void contend() {
		synchronized (monitor) {
			sink += hotInner(200000);
			try { Thread.sleep(12); } catch (InterruptedException e) { }
		}
	}
	static void park() {
		lock.lock();
		try {
			LockSupport.parkNanos(12_000_000);
		} finally {
			lock.unlock();
		}
	}
	static void waitFor() {
		synchronized (waiting) {
			try { waiting.wait(11); } catch (InterruptedException e) { }
		}
	}
	static class Oops extends Exception { Oops(String s) { super(s); } }
	static void thrower(int n) throws Oops {
		if (n > 0)
			thrower(n - 1);
		else
			throw new Oops("planted");
	}
	static void throwSome() {
		try { thrower(4); } catch (Oops e) { sink++; }
		try { throw new StackOverflowError("planted"); } catch (Error e) { sink++; }
	}
	static void files(Path p) throws IOException {
		byte[] b = new byte[1 << 20];
		try (FileOutputStream o = new FileOutputStream(p.toFile())) { for (int i = 0; i < 8; i++) o.write(b); }
		try (FileInputStream i = new FileInputStream(p.toFile())) { while (i.read(b) > 0) ; }
		try (FileChannel c = FileChannel.open(p, StandardOpenOption.WRITE)) { c.write(ByteBuffer.wrap(b)); c.force(true); }
		try (RandomAccessFile r = new RandomAccessFile(p.toFile(), "r")) { r.seek(10); r.read(b); }
	}
	static void sockets(ServerSocket server) throws IOException {
		try (Socket s = new Socket(InetAddress.getLoopbackAddress(), server.getLocalPort())) {
			s.getOutputStream().write(new byte[200000]);
			s.getInputStream().read();
		}
	}
	static void serve(ServerSocket server) {
		byte[] b = new byte[1000];
		while (!stop) {
			try (Socket s = server.accept()) {
				int n = 0;
				while (n < 200000)
					n += Math.max(s.getInputStream().read(b), 0);
				Thread.sleep(25);
				s.getOutputStream().write(1);
			} catch (Exception e) { }
		}
	}
	interface Task { void run() throws Exception; }
	static final List<Thread> threads = new ArrayList<>();
	static void start(String name, Task t) {
		Thread th = new Thread(() -> {
			while (!stop) {
				try { t.run(); } catch (Exception e) { e.printStackTrace(); return; }
			}
		}, name);
		th.start();
		threads.add(th);
	}
	/** Thread.startVirtualThread, where there is one. */
	static Thread virtual(Runnable r) {
		try {
			Method m = Thread.class.getMethod("startVirtualThread", Runnable.class);
			return (Thread) m.invoke(null, r);
		} catch (Exception e) {
			return null;
		}
	}
	static void virtualBurn() {
		for (int i = 0; i < 50 && !stop; i++) {
			sink += hotOnce(100000);
			try { Thread.sleep(1); } catch (InterruptedException e) { }
			synchronized (waiting) { LockSupport.parkNanos(22_000_000); }
		}
	}
	public static void main(String[] args) throws Exception {
		double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 3;
		String what = args.length > 1 ? args[1] : "all";
		boolean all = what.equals("all");
		Path p = Files.createTempFile("load", ".bin");
		ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
		AtomicLong n = new AtomicLong();
		if (all || what.contains("cpu")) start("burner; \u2603 1", Load::burn);
		if (all || what.contains("deep")) start("deep", () -> { sink += deep(40, 3000); sink += deep(150, 3000); sink += deepStream(); });
		if (all || what.contains("alloc")) start("allocator", () -> { for (int i = 0; i < 2000; i++) allocate((int) n.incrementAndGet()); Thread.sleep(1); });
		if (all || what.contains("lock")) {
			start("contender-1", Load::contend);
			start("contender-2", Load::contend);
			start("parker-1", Load::park);
			start("parker-2", Load::park);
			start("waiter", Load::waitFor);
		}
		if (all || what.contains("throw")) start("", () -> { throwSome(); Thread.sleep(5); });
		if (all || what.contains("io")) {
			start("files", () -> { files(p); Thread.sleep(50); });
			Thread s = new Thread(() -> serve(server), "server");
			s.setDaemon(true);
			s.start();
			start("sockets", () -> sockets(server));
		}
		if (all || what.contains("sleep")) start("sleeper", () -> Thread.sleep(21));
		if (all || what.contains("virtual")) for (int i = 0; i < 8; i++) virtual(Load::virtualBurn);
		long end = System.nanoTime() + (long) (seconds * 1e9);
		int gcs = 0;
		while (System.nanoTime() < end) {
			Thread.sleep(300);
			if (gcs++ % 4 == 0)
				System.gc();
		}
		stop = true;
		for (Thread t : threads)
			t.join(2000);
		server.close();
		Files.delete(p);
		System.exit(0);
	}
}
