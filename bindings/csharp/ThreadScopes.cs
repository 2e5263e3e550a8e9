using System;
using System.Collections.Generic;
using System.Threading;

namespace Halftone {

/// <summary>
/// The open scopes of each thread. A thread that leaves an async method at an await goes on with other work, in which
/// the scopes that the method has begun must not act: gradients would be off there without a word. So they end then. A
/// thread that waits for a task may run it itself: the scopes in which it waits and the task was not made end as well.
/// </summary>
static class ThreadScopes {
  private sealed class Link {
    internal readonly Scope Scope;
    internal readonly Link Outer;

    internal Link(Scope scope, Link outer) {
      Scope = scope;
      Outer = outer;
    }
  }

  // The scopes in which code runs, the innermost first. It takes them along to other threads, where they do not act.
  private static readonly AsyncLocal<Link> around = new AsyncLocal<Link>(Changed);

  [ThreadStatic] private static List<Scope> open;  // the innermost is the last

  internal static void Begun(Scope scope) {
    if (open == null) open = new List<Scope>();
    open.RemoveAll(one => one.IsEnded);  // on other threads
    open.Add(scope);
    around.Value = new Link(scope, around.Value);
  }

  internal static void Ended(Scope scope) {
    if (open != null) open.Remove(scope);
    around.Value = Without(scope, around.Value);
  }

  // Called when this thread begins other work, among others. No exception may leave it.
  private static void Changed(AsyncLocalValueChangedArgs<Link> change) {
    if (!change.ThreadContextChanged || open == null) return;
    for (int i = open.Count - 1; i >= 0; --i) {
      if (IsIn(open[i], change.CurrentValue)) continue;
      open[i].LeaveBehind();
      open.RemoveAt(i);
    }
  }

  private static bool IsIn(Scope scope, Link link) {
    while (link != null && link.Scope != scope) link = link.Outer;
    return link != null;
  }

  private static Link Without(Scope scope, Link link) {
    if (link == null) return null;
    if (link.Scope == scope) return link.Outer;
    var outer = Without(scope, link.Outer);
    return outer == link.Outer ? link : new Link(link.Scope, outer);
  }
}

}
