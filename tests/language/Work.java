/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For test_java.c. Runs its functions ROUNDS times, tells its stack, and goes on: "told" in its
 * innermost function, "busy" with ever more rounds. In each round beta() does three times as much
 * work as alpha().
 */
import java.util.Arrays;
import java.util.Comparator;

public class Work
{
	static volatile long sink;
	static boolean last;

	static void tell()
	{
		StackTraceElement[] frames = Thread.currentThread().getStackTrace();

		for (int i = 2; i < frames.length; i++) {
			String name = frames[i].getClassName().replaceAll("[/+].*", "");

			String line = "[java] " + name + "." + frames[i].getMethodName();

			/* The innermost function goes on to another line; generated and native ones have none. */
			if (i > 2 && String.valueOf(frames[i].getFileName()).endsWith(".java"))
				line += " " + frames[i].getFileName() + " * " +
					Math.max(0, frames[i].getLineNumber());
			System.out.println(line);
		}
		System.out.println("END");
		System.out.flush();
	}

	static void innermost(int x)
	{
		sink += x;
		if (!last)
			return;
		tell();
		for (;;)
			sink++;
	}

	interface Third
	{
		int gamma(int n);
	}

	static class First implements Third
	{
		public synchronized int gamma(int n)
		{
			if (n > 0)
				return gamma(n - 1) + 1;
			innermost(n);
			return 0;
		}
	}

	static int many(long a, int b, double c, Object d, long e, long f, long g, long h, long i)
	{
		Third third = a == 1 ? new First() : n ->
		{
			innermost(n);
			return 2;
		};

		return third.gamma(b) + (int)(e + f + g + h + i);
	}

	static int compare(Integer a, Integer b) throws RuntimeException
	{
		many(1, 3, 2.0, a, 1, 2, 3, 4, 5);
		return a - b;
	}

	public static Object reflected() throws Exception
	{
		Integer[] numbers = { 2, 1 };
		Comparator<Integer> by_compare = new Comparator<Integer>() {
			public int compare(Integer a, Integer b)
			{
				return Work.compare(a, b);
			}
		};

		Arrays.sort(numbers, by_compare);
		return numbers;
	}

	static void run() throws Exception
	{
		Work.class.getMethod("reflected").invoke(null);
	}

	static int mix(int x, int n)
	{
		int s = x;

		for (int i = 0; i < n; i++)
			s = s * 31 + (i ^ s >>> 7);
		return s;
	}

	int alpha(int n)
	{
		int s = 0;

		for (int i = 0; i < n; i++)
			s += mix(s, 50);
		return s;
	}

	int beta(int n)
	{
		int s = 0;

		for (int i = 0; i < n; i++)
			s ^= mix(s, 150);
		return s;
	}

	void round_()
	{
		sink += alpha(300);
		sink += beta(300);
	}

	public static void main(String[] arguments) throws Exception
	{
		int rounds = Integer.parseInt(arguments[1]);
		Work work = new Work();

		if (arguments[0].equals("told")) {
			for (int i = 0; i < rounds; i++) {
				many(2, 3, 2.0, null, 1, 2, 3, 4, 5);
				run();
			}
			last = true;
			run();
		}
		for (int i = 0; i < rounds; i++)
			work.round_();
		System.out.println("END");
		System.out.flush();
		for (;;)
			work.round_();
	}
}
