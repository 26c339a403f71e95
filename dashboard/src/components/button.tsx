/**
 * A button. With only an icon it must be given an `aria-label`.
 *
 * One that is switched off stays where it is and keeps the focus, which a browser would take from it: it does nothing, and says so to screen readers.
 */
import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react';
import { Icon } from './icon.tsx';
import type { IconName } from './icon.tsx';
import { useServerAway } from './server-away.tsx';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly tone?: 'normal' | 'danger' | 'primary' | 'plain';
  readonly icon?: IconName;
  readonly children?: ReactNode;
  /** It asks the server for something, so it is off while that one is away. */
  readonly asksServer?: boolean;
  readonly ref?: Ref<HTMLButtonElement>;
  readonly 'data-testid'?: string;
}

export function Button({
  tone = 'normal',
  icon,
  children,
  asksServer = false,
  disabled = false,
  onClick,
  ...rest
}: ButtonProps) {
  const away = useServerAway() && asksServer;
  const off = disabled || away;
  return (
    <button
      type="button"
      className={children === undefined ? 'button button-icon-only' : 'button'}
      data-tone={tone}
      title={children === undefined ? rest['aria-label'] : undefined}
      {...rest}
      {...(away && { title: 'The server does not answer' })}
      aria-disabled={off}
      onClick={off ? undefined : onClick}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}
