"""What a service reads from files; a parent hands on to its workers what was last fit for use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loopguard.config import Configuration, load_configuration

from .certificates import Certificate
from .reload import Part
from .settings import check_table
from .tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from .settings import Settings


@dataclass(slots=True)
class Sources:
    """What is in use of each file; `None` where the settings name none."""

    configuration: Configuration
    tokens: Tokens | None
    certificate: Certificate | None

    @classmethod
    def read(cls, settings: Settings, configuration: Configuration) -> Sources:
        """Read the other files beside a configuration. Raises `InvalidConfig`."""
        tokens = Tokens.load(settings.tokens_file) if settings.tokens_file is not None else None
        certificate = Certificate.load(settings) if settings.tls_certificate is not None else None
        return cls(configuration, tokens, certificate)

    def to_message(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        return {
            "configuration": self.configuration.text,
            "tokens": self.tokens and self.tokens.to_message(),
            "certificate": self.certificate and self.certificate.to_message(),
        }

    @classmethod
    def from_message(cls, settings: Settings, told: dict[str, Any]) -> Sources:
        """Take over what was read elsewhere."""
        text, tokens, certificate = told["configuration"], told["tokens"], told["certificate"]
        return cls(
            Configuration.from_text(text, settings.config or "") if text else Configuration.guarded(),
            Tokens.from_message(tokens) if tokens is not None else None,
            Certificate.from_message(certificate) if certificate is not None else None,
        )


def parts_of(
    settings: Settings,
    configure: Callable[[Configuration], None],
    use_tokens: Callable[[Tokens], None],
    use_certificate: Callable[[Certificate], None],
) -> list[Part[Any]]:
    """Return what is to be read anew when its files change, and what is done with it then."""
    parts: list[Part[Any]] = []
    config, tokens_file = settings.config, settings.tokens_file
    if tokens_file is not None:
        parts.append(Part("tokens", (tokens_file,), lambda: Tokens.load(tokens_file), use_tokens))
    if settings.tls_certificate is not None:
        files = tuple(filter(None, (settings.tls_certificate, settings.tls_key, settings.tls_client_ca)))
        parts.append(Part("certificate", files, lambda: Certificate.load(settings), use_certificate))
    if config is not None:
        parts.append(Part("configuration", (config,), lambda: _read_configuration(config), configure))
    return parts


def _read_configuration(path: str) -> Configuration:
    configuration = load_configuration(path)
    check_table(configuration)
    return configuration
