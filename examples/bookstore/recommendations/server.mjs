// Which books go with a book: GET /related?item=N.
import { createServer } from 'node:http';
import pg from 'pg';
import { trace } from '@opentelemetry/api';
import { apply, value } from './switches.mjs';

const RELATED = 'SELECT unnest(related) AS id FROM item WHERE id = $1';
const TITLES = 'SELECT id, title, price_cents FROM item WHERE id = ANY($1)';
const TITLE = 'SELECT id, title, price_cents FROM item WHERE id = $1';

const port = Number(process.env.BOOKSTORE_PORT);
const pool = new pg.Pool({
  host: '127.0.0.1',
  port: port + 7,
  user: 'bookstore',
  database: 'bookstore',
  max: 8,
});

async function related(item) {
  const ids = (await pool.query(RELATED, [item])).rows.map((row) => row.id);
  if (!value('deprecated', false)) return (await pool.query(TITLES, [ids])).rows;
  // What version 2 leaves of the old interface: one query for each book, one after the other.
  const rows = [];
  for (const id of ids) {
    await apply('deprecated');
    rows.push(...(await pool.query(TITLE, [id])).rows);
  }
  return rows;
}

async function answer(request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://recommendations');
  const operation = `${request.method} ${pathname}`;
  // The instrumentation of plain HTTP knows no routes; frameworks report theirs.
  trace.getActiveSpan()?.setAttribute('http.route', pathname).updateName(operation);
  let status = 200;
  let body;
  try {
    await apply(operation);
    body = { items: await related(Number(searchParams.get('item'))) };
  } catch (error) {
    status = 500;
    body = { error: error.message };
  }
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

createServer(answer).listen(port + 4, '127.0.0.1');
