/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For test_java.c. spin() has nearly all of the work, in a loop that calls nothing. It is put into
 * turn(), as is take(), which has calls that a compiler notes.
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

	static void turn()
	{
		sink += take(10);
		sink += spin(10000);
		sink += take(20);
	}

	public static void main(String[] arguments)
	{
		for (int i = 0; i < 20000; i++)
			turn();
		System.out.println("END");
		System.out.flush();
		for (;;)
			turn();
	}
}
