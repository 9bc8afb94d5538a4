/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list.h - doubly linked lists whose links lie in the objects, as the kernel has them.
 *
 * A link that is in no list points at itself, so that list_del() may be called twice and
 * list_empty() of a link tells whether it is in a list.
 */
#ifndef GPGPU_LIST_H
#define GPGPU_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

static inline void list_init(struct list *list)
{
	list->next = list->prev = list;
}

static inline bool list_empty(const struct list *list)
{
	return list->next == list;
}

static inline void list_add_tail(struct list *head, struct list *link)
{
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

static inline void list_add(struct list *head, struct list *link)
{
	list_add_tail(head->next, link);
}

static inline void list_del(struct list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	list_init(link);
}

/* list_pop() - Return: the first link, taken out, or NULL. */
static inline struct list *list_pop(struct list *head)
{
	struct list *link = head->next;

	if (link == head)
		return NULL;
	list_del(link);
	return link;
}

#define list_for_each(pos, head) for (pos = (head)->next; pos != (head); pos = pos->next)

/* @pos may be taken out of the list by the body. */
#define list_for_each_safe(pos, n, head) \
	for (pos = (head)->next, n = pos->next; pos != (head); pos = n, n = pos->next)

#endif
