"""Clients of the service: they keep a run going through lost streams and servers, and decide when there is no guard."""

from loopguard.client.settings import OnUnavailable
from loopguard.client.tasks import AsyncGuardClient, AsyncGuardRun
from loopguard.client.threads import GuardClient, GuardRun

__all__ = ["AsyncGuardClient", "AsyncGuardRun", "GuardClient", "GuardRun", "OnUnavailable"]
