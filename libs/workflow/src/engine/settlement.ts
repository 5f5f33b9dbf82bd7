/** What became of an outcome: `late` when nobody wanted it any more, `gone` when the run itself was deleted. */
export type Settlement = 'settled' | 'late' | 'gone';
