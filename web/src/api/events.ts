// Server-sent events over `fetch`: `EventSource` hides its errors and reconnects by itself.

/** Characters of the longest event. */
const EVENT_MAX = 1_000_000;

/** Parses chunks of text, wherever they are split, into the data of events. */
export class EventReader {
  #rest = "";
  #data: string[] = [];

  /** Data of the events that are complete with this chunk. */
  push(chunk: string): string[] {
    const text = this.#rest + chunk;
    // A carriage return at the end may be half of a line break.
    const complete = text.endsWith("\r") ? text.slice(0, -1) : text;
    const lines = complete.split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + text.slice(complete.length);
    if (this.#rest.length > EVENT_MAX) throw new Error("an event is too long");
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): string[] {
    if (line !== "") {
      if (line.startsWith("data:")) this.#data.push(line.slice(5).replace(/^ /, ""));
      return [];
    }
    if (this.#data.length === 0) return [];
    const event = this.#data.join("\n");
    this.#data = [];
    return [event];
  }
}

/** Every event of a response, parsed as JSON, until it ends. */
export async function* events<T>(response: Response): AsyncGenerator<T> {
  if (!response.body) return;
  const reader = new EventReader();
  const stream = response.body.pipeThrough(new TextDecoderStream());
  for await (const chunk of chunks(stream)) {
    for (const event of reader.push(chunk)) yield JSON.parse(event) as T;
  }
}

async function* chunks(stream: ReadableStream<string>): AsyncGenerator<string> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
