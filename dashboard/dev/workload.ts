/** Development only. Statements for the toy cluster's log, and canned answers for its SQL console. */
let turn = 0;

export function nextStatement(): string {
  turn += 1;
  const id = (turn * 7919) % 500_000;
  const delta = ((turn * 37) % 9999) - 4999;
  const statements = [
    `UPDATE pgbench_accounts SET abalance = abalance + ${delta} WHERE aid = ${id}`,
    `INSERT INTO orders (customer, drink, shots) VALUES (${id % 900}, 'flat white', 2)`,
    `UPDATE pgbench_tellers SET tbalance = tbalance + ${delta} WHERE tid = ${id % 50}`,
    `INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (${id % 50}, 1, ${id}, ${delta}, now())`,
    `DELETE FROM carts WHERE touched < now() - interval '1 hour'`,
  ];
  return statements.at(turn % statements.length) ?? '';
}

export function answerSql(sql: string): Record<string, unknown> {
  const text = sql.trim();
  const durationMs = Math.round((1 + Math.random() * 4) * 10) / 10;
  const typo = /\bselct\b|\bform\b/i.exec(text);
  if (typo !== null) {
    return {
      error: {
        code: '42601',
        message: `syntax error at or near "${typo[0]}"`,
        position: sql.indexOf(typo[0]) + 1,
      },
    };
  }
  if (/nowhere/i.test(text)) {
    return {
      error: {
        code: '42P01',
        message: 'relation "nowhere" does not exist',
        position: sql.indexOf('nowhere') + 1,
      },
    };
  }
  const tag = /^(insert|update|delete|create table|drop table)/i.exec(text)?.[0].toUpperCase();
  if (tag !== undefined) {
    const command = tag === 'INSERT' ? 'INSERT 0 1' : /TABLE/.test(tag) ? tag : `${tag} 1`;
    return { columns: [], rows: [], command, durationMs, truncated: false };
  }
  const rows = Array.from({ length: 12 }, (_, index) => [
    String(index + 1),
    ['espresso', 'cortado', 'flat white', 'filter'].at(index % 4) ?? null,
    String((index % 3) + 1),
    index % 5 === 2 ? null : `customer ${(index * 37) % 90}`,
    `2026-11-20 15:0${index % 10}:12.48${index}+00`,
  ]);
  return {
    columns: ['id', 'drink', 'shots', 'customer', 'ordered_at'],
    rows,
    command: 'SELECT 12',
    durationMs,
    truncated: false,
  };
}
