/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See churn_programs.h: a class of each turn, whose name is written over that of Made0000000. */
import java.io.DataInputStream;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;

class Made0000000 {
	static long c(int most) {
		long sum = 0;
		for (int i = 0; i < most; i++)
			sum += i ^ sum;
		return sum;
	}

	static long b(int most) {
		return c(most) + 1;
	}

	public static long a(int most) {
		return b(most) + 1;
	}
}

public class Churn {
	static class Loader extends ClassLoader {
		Class<?> make(byte[] bytes) {
			return defineClass(null, bytes, 0, bytes.length);
		}
	}

	static byte[] template;
	static MappedByteBuffer turn;

	static void run(int n) throws Exception {
		String text = new String(template, "ISO-8859-1").replace("0000000", "" + n);
		Class<?> made = new Loader().make(text.getBytes("ISO-8859-1"));
		java.lang.reflect.Method method = made.getDeclaredMethod("a", int.class);
		method.setAccessible(true);
		turn.putLong(0, n);
		method.invoke(null, n % 1000 * 400);
	}

	public static void main(String[] arguments) throws Exception {
		try (InputStream stream = Churn.class.getResourceAsStream("Made0000000.class")) {
			template = new byte[stream.available()];
			new DataInputStream(stream).readFully(template);
		}
		turn = new RandomAccessFile(arguments[0], "rw").getChannel().map(
			FileChannel.MapMode.READ_WRITE, 0, 8);
		turn.order(ByteOrder.LITTLE_ENDIAN);
		System.out.println("END");
		Thread.sleep(500);
		for (int n = 1000001;; n++) {
			run(n);
			if (n % 50 == 0)
				System.gc();
		}
	}
}
