/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For test_java.c. spin() has nearly all of the work, in a loop that calls nothing. It is put into
 * turn(), as is take(), which has calls that a compiler notes. With an argument the program runs
 * functions that have little of their work in a loop.
 */
public class Loops
{
	static volatile long sink;
	static final int[] numbers = { 1, 2, 3, 4, 5, 6, 7 };

	static int take(int n)
	{
		int sum = 0;

		for (int i = 0; i < n; i++)
			sum += numbers[i % numbers.length];
		return sum;
	}

	static int spin(int n)
	{
		int sum = 1;

		for (int i = 0; i < n; i++)
			sum = (sum * 31 + i) % 65521;
		return sum;
	}

	/* The loop does one of 49 steps. */
	static int once(int n)
	{
		int sum = 1;

		for (int i = 0; i < n; i++)
			sum = (sum * 31 + i) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		sum = (sum * 31 + n) % 65521;
		return sum;
	}

	/* What follows the loop calls functions of the machine. */
	static double rest(double divided, int n)
	{
		double rest = divided;

		for (int i = 0; i < n; i++)
			rest += i;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		rest = (rest * 31 + n) % 65521;
		return rest;
	}

	static void turn_once()
	{
		for (int i = 0; i < 4; i++)
			sink += once(1);
		sink += (long) rest(sink, 1);
	}

	static void turn()
	{
		sink += take(10);
		sink += spin(10000);
		sink += take(20);
	}

	public static void main(String[] arguments)
	{
		boolean loops = arguments.length == 0;

		for (int i = 0; i < 20000; i++)
			if (loops)
				turn();
			else
				turn_once();
		System.out.println("END");
		System.out.flush();
		for (;;)
			if (loops)
				turn();
			else
				turn_once();
	}
}
