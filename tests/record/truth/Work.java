/* SPDX-License-Identifier: MIT */
/* 34% of the processor time in jsonEncode(), 66% in parse(); a thread waits for a lock for most of the time. */
public class Work {
	static long sink;
	static final Object lock = new Object();

	static void burn(long rounds) {
		for (long i = 0; i < rounds; i++)
			sink += i * sink + 1;
	}

	static void jsonEncode(long rounds) {
		for (long i = 0; i < rounds; i++)
			sink += i * sink + 1;
	}

	static void parse(long rounds) {
		for (long i = 0; i < rounds; i++)
			sink += i * sink + 3;
	}

	static void deep(int depth, long rounds) {
		if (depth > 0)
			deep(depth - 1, rounds);
		else {
			jsonEncode(rounds * 34);
			parse(rounds * 66);
		}
	}

	static void waitForLock() {
		synchronized (lock) {
			sink++;
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + (long)(Double.parseDouble(args[0]) * 1e9);
		int depth = args.length > 1 ? Integer.parseInt(args[1]) : 0;
		Thread waiter = new Thread(() -> {
			while (System.nanoTime() < end) {
				waitForLock();
				try {
					Thread.sleep(5);
				} catch (InterruptedException e) {
					return;
				}
			}
		}, "waiter");

		waiter.start();
		while (System.nanoTime() < end) {
			synchronized (lock) {
				long until = System.nanoTime() + 90000000;

				while (System.nanoTime() < until)
					deep(depth, 20000);
			}
			Thread.sleep(10);
		}
		waiter.join();
	}
}
