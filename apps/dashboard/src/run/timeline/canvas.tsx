import { memo, type CSSProperties } from 'react';
import { ZONE } from '../../parts/local-time';
import { absolute } from '../../parts/moment-text';
import { ticksOf } from './axis';
import { outcomeOf } from './outcome-colors';
import type { Drawing, Span, Stretch } from './spans';

interface CanvasProps {
  readonly drawing: Drawing;
  readonly view: Stretch;
  /** How many moments the axis names at most. */
  readonly ticks: number;
}

/** Further right there is no room for what a moment is called. Percent. */
const LAST_LABEL = 94;

/** The bars themselves. Whoever hears the page has the table of attempts, which says the same. */
export const Canvas = memo(function Canvas({ drawing: { bars, pauses, now }, view, ticks }: CanvasProps) {
  const place = (at: number) => ((at - view.from) / (view.to - view.from)) * 100;
  const at = now === null ? null : <span className="timeline-now" style={{ left: `${place(now)}%` }} title="Now" />;
  return (
    <>
      <Line label={ZONE} isAxis>
        {ticksOf(view, ticks).map((tick) => (
          <span key={tick.at} className="timeline-tick" style={{ left: `${place(tick.at)}%` }}>
            {place(tick.at) < LAST_LABEL && tick.label}
          </span>
        ))}
        {at}
      </Line>
      {pauses.length > 0 && (
        <Line label="Paused">
          <Spans spans={pauses} view={view} place={place} says={(span) => `Paused: ${betweenText(span)}`} />
          {at}
        </Line>
      )}
      {bars.map(({ attempt, spans }) => {
        const { color, word } = outcomeOf(attempt);
        const name = `${attempt.step}, attempt ${attempt.attempt}`;
        return (
          <Line
            key={attempt.id}
            label={`${attempt.step} · ${attempt.attempt}`}
            title={`${name}: ${word}`}
            color={color}
          >
            <Spans
              spans={spans}
              view={view}
              place={place}
              says={(span) => `${name}, ${word}. ${capital(span.part)}: ${betweenText(span)}`}
            />
            {at}
          </Line>
        );
      })}
    </>
  );
});

interface LineProps {
  readonly label: string;
  readonly title?: string;
  readonly color?: string;
  readonly isAxis?: boolean;
  readonly children: React.ReactNode;
}

function Line({ label, title = label, color, isAxis, children }: LineProps) {
  return (
    <div className="timeline-line" data-axis={isAxis} style={{ '--outcome': color } as CSSProperties}>
      <span className="timeline-label" title={title}>
        {label}
      </span>
      <span className="timeline-track">{children}</span>
    </div>
  );
}

interface SpansProps {
  readonly spans: readonly Span[];
  readonly view: Stretch;
  readonly place: (at: number) => number;
  readonly says: (span: Span) => string;
}

function Spans({ spans, view, place, says }: SpansProps) {
  return spans
    .filter(({ from, to }) => to >= view.from && from <= view.to)
    .map((span) => {
      // Cut to a little more than what is in view: browsers lose count of widths in the millions of pixels.
      const [left, right] = [Math.max(-5, place(span.from)), Math.min(105, place(span.to))];
      const style = { left: `${left}%`, width: `${right - left}%` };
      return (
        <span
          key={`${span.part} ${span.from}`}
          className="timeline-span"
          data-part={span.part}
          style={style}
          title={says(span)}
        />
      );
    });
}

function betweenText({ from, to }: Stretch): string {
  return `${absolute(new Date(from).toISOString())} to ${absolute(new Date(to).toISOString())}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
